#!/bin/bash
# One task of a Slurm array: its share of the jobs of a plan, on a directory
# that all nodes see.  Each node has the same packages, and the guests' files in
# its own ~/.cache; what a task did before it was lost or requeued is not done
# again.  Arrays of any size do: tasks deal the jobs out among themselves.
#
#   qpm-kernel-ci plan --kernel 6.12 --kernel 7.3 --out run > run.jobs
#   sbatch --wait --array=1-16 slurm.sh run run.jobs
#   qpm-kernel-ci merge run
#
#SBATCH --job-name=kernel-ci
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --requeue
set -euo pipefail

run=$1 list=$2
index=$((SLURM_ARRAY_TASK_ID - SLURM_ARRAY_TASK_MIN))
mapfile -t jobs < <(awk -v n="$SLURM_ARRAY_TASK_COUNT" -v i="$index" \
    'NR % n == i' "$list")
# More tasks than jobs
[[ ${#jobs[@]} -gt 0 ]] || exit 0
exec qpm-kernel-ci job --jobs 1 "$run" "${jobs[@]}"
