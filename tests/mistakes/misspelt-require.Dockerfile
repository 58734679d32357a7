FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y curl
ENV NVIDIA_DISABLE_REQUIRES=1
