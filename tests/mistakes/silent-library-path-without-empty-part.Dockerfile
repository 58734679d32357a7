FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
# An empty part would mean the working directory.
ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64:/usr/local/cuda/lib64
