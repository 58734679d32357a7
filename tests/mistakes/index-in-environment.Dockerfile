FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
ENV PIP_INDEX_URL=https://download.pytorch.org/whl/cu118 \
    PIP_NO_CACHE_DIR=1
RUN apt-get update && apt-get install -y python3-pip
RUN pip install torch==2.4.1
