FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
ENV NVIDIA_DRIVER_CAPABILITIES=video,utility
RUN apt-get update && apt-get install -y python3-pip && pip3 install torch==2.8.0
