ARG CUDA_VERSION=12.4.1
FROM nvidia/cuda:${CUDA_VERSION}-runtime-ubuntu22.04
ARG TORCH_VERSION=2.4.0
ARG TORCH_CUDA=cu118
RUN apt-get update && apt-get install -y python3-pip
RUN pip3 install "torch==${TORCH_VERSION}" \
    --index-url "https://download.pytorch.org/whl/${TORCH_CUDA}"
