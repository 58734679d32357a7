FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
ARG INDEX=https://download.pytorch.org/whl/cu128
ENV PIP_INDEX_URL=$INDEX
RUN apt-get update && apt-get install -y python3-pip && pip3 install torch==2.8.0
