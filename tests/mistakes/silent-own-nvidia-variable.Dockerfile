FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
ENV NVIDIA_REQUIRE_ARCH="arch>=7.0" NVIDIA_BUILD_REF=ours
