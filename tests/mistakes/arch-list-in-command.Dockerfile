FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
RUN apt-get update && apt-get install -y git python3-pip && git clone https://github.com/NVIDIA/apex /apex
RUN cd /apex && \
    export TORCH_CUDA_ARCH_LIST="9.0" && \
    pip install -v --no-build-isolation .
