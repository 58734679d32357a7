FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04
RUN apt-get update && \
    apt-get install -y python3-pip && \
    pip3 install --upgrade pip && \
    pip3 install torch torchvision
