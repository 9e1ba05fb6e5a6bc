#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Workers of a cluster as a job of Slurm: one on each node, until the time is over.
#   sbatch --nodes=8 examples/slurm/worker.sh nats://HOST:4222 /shared/vcap [ARGUMENT …]
# Slurm only starts and ends them; the queue is the broker's. Further arguments go to each worker.
#SBATCH --job-name=vcap-worker
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
# Slurm sends SIGTERM so many seconds before the time is over: workers then give back what they have.
#SBATCH --signal=TERM@60
set -euo pipefail

url=${1:?the URL of the broker}
folder=${2:?a folder for capsules, which the nodes may share}
shift 2
# Local disks are faster, and a spool must not be on a shared one that is slow.
exec srun --kill-on-bad-exit=0 vcap worker --nats "$url" \
  --capsules "${SLURM_TMPDIR:-$folder}" --slots "${SLURM_CPUS_ON_NODE:-0}" "$@"
