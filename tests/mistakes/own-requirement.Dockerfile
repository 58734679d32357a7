FROM nvidia/cuda:12.2.2-runtime-ubuntu22.04
LABEL maintainer=me
ENV NVIDIA_REQUIRE_CUDA="cuda>=12.8"
