FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
# PyTorch runs on every driver of the major release.
ENV NVIDIA_REQUIRE_CUDA="cuda>=12.0"
RUN apt-get update && apt-get install -y python3-pip && pip3 install torch==2.8.0
