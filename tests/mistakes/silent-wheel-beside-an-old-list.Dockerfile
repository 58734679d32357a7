FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
ENV TORCH_CUDA_ARCH_LIST="3.5;3.7"
RUN apt-get update && apt-get install -y python3-pip && pip3 install torch==2.8.0 torchvision==0.23.0
