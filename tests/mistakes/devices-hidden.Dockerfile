FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
ENV CUDA_VISIBLE_DEVICES=-1
RUN apt-get update && apt-get install -y python3-pip && pip install torch==2.4.0
