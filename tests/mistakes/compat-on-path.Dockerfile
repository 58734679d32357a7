FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04
ENV LD_LIBRARY_PATH=/usr/local/cuda/compat:$LD_LIBRARY_PATH
