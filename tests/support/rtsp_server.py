#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A camera by RTSP on loopback: rtsp://127.0.0.1:<port>/live, motion JPEG over TCP, 64 x 48, 25 a second.

Prints its port; one that is given as an argument is taken, else a free one ("0"). The picture moves from
frame to frame. A second argument names a Matroska file of H.264, which is sent as by a camera from the
first client on, at /clip: whoever comes later comes in midway. Ends with the program that started it, also
while it is stopped.
"""
import ctypes
import os
import signal
import sys
import sysconfig

PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

# Prevents a search through all plugins, which takes seconds and is saved in the user's home.
os.environ.update(GST_PLUGIN_SYSTEM_PATH_1_0="", GST_REGISTRY="/dev/null", GST_REGISTRY_UPDATE="no")

import gi

for name in "Gst", "GstRtsp", "GstRtspServer":
    gi.require_version(name, "1.0")
from gi.repository import GLib, Gst, GstRtsp, GstRtspServer

Gst.init(None)
for plugin in "app", "coreelements", "jpeg", "matroska", "rtp", "rtpmanager", "tcp", "udp", "videotestsrc":
    Gst.Plugin.load_file(f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}/gstreamer-1.0/libgst{plugin}.so")

factory = GstRtspServer.RTSPMediaFactory()
factory.set_launch(
    "( videotestsrc is-live=true horizontal-speed=4 ! video/x-raw,format=I420,width=64,height=48,framerate=25/1"
    " ! jpegenc ! rtpjpegpay name=pay0 pt=26 )"
)
factory.set_shared(True)
factory.set_protocols(GstRtsp.RTSPLowerTrans.TCP)

server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service(sys.argv[1] if len(sys.argv) > 1 else "0")
server.get_mount_points().add_factory("/live", factory)


def play(clip, media):
    # From a stream of bytes, in which no client can seek; otherwise one that plays from 0 would.
    source = media.get_element().get_by_name("bytes")
    with open(clip, "rb") as file:
        source.emit("push-buffer", Gst.Buffer.new_wrapped(file.read()))
    source.emit("end-of-stream")


if len(sys.argv) > 2:
    clips = GstRtspServer.RTSPMediaFactory()
    clips.set_launch("( appsrc name=bytes ! matroskademux ! identity sync=true ! rtph264pay name=pay0 pt=96 )")
    clips.set_shared(True)
    clips.set_protocols(GstRtsp.RTSPLowerTrans.TCP)
    clips.connect("media-configure", lambda _, media: play(sys.argv[2], media))
    server.get_mount_points().add_factory("/clip", clips)
if server.attach(None) == 0:
    sys.exit("the port is taken")
print(server.get_bound_port(), flush=True)
GLib.MainLoop().run()
