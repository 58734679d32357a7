FROM ubuntu:22.04
RUN apt-get update && apt-get install -y --no-install-recommends \
    nvidia-cuda-toolkit \
    python3-pip
RUN pip install torch==2.6.0
