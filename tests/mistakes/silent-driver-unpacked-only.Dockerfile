FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
RUN curl -fsSLO https://us.download.nvidia.com/tesla/535.54.03/NVIDIA-Linux-x86_64-535.54.03.run
RUN sh NVIDIA-Linux-x86_64-535.54.03.run --extract-only
