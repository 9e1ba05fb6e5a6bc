// SPDX-License-Identifier: Apache-2.0
#include "media/av_formats.hpp"

namespace vcap {
namespace {

/// Containers, streams of one codec, and pictures, whose readers open nothing but what they are
/// given. A reader whose name is not in this FFmpeg does no harm.
constexpr const char* kContainers =
    // Containers. A QuickTime file may refer to other files; libav's option for it is off.
    "mov,matroska,webm,avi,mpegts,mpeg,flv,live_flv,kux,asf,asf_o,ogg,mxf,gxf,nut,rm,ivf,wtv,dv,"
    "nsv,nuv,pva,ty,lmlm4,smjpeg,bink,binka,smk,roq,flic,swf,yuv4mpegpipe,"
    // Streams of one codec.
    "mpegvideo,h261,h263,h264,hevc,vvc,m4v,av1,obu,vc1,vc1test,dirac,cavsvideo,avs,avs2,avs3,mjpeg,"
    "mjpeg_2000,ingenient,gif,apng,"
    // One picture.
    "bmp_pipe,gif_pipe,j2k_pipe,jpeg_pipe,jpegls_pipe,jpegxl_pipe,pam_pipe,pbm_pipe,pgm_pipe,"
    "png_pipe,ppm_pipe,qoi_pipe,tiff_pipe,webp_pipe";

}  // namespace

AvAccess AvAccess::stored_file() { return {.formats = kContainers, .protocols = "file"}; }

AvAccess AvAccess::network() {
  // The protocols are those that libav allows for the address: for HTTP, for example, no files.
  return {.formats = std::string(kContainers) + ",rtsp,rtp,mpjpeg", .protocols = {}};
}

AvAccess AvAccess::hls(bool remote) {
  return {.formats = std::string(kContainers) + ",hls",
          .protocols = remote ? "http,https,httpproxy,tls,tcp,crypto,data" : "file,crypto,data",
          .names_files = true};
}

AvAccess AvAccess::ffconcat() {
  return {
      .formats = std::string(kContainers) + ",concat", .protocols = "file", .names_files = true};
}

}  // namespace vcap
