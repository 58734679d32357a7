FROM ubuntu:22.04
RUN apt-get update && apt-get install -y --no-install-recommends \
    build-essential \
    nvidia-driver-535 \
    python3-pip
RUN pip3 install torch==2.4.0
