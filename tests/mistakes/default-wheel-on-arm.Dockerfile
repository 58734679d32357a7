FROM --platform=linux/arm64 nvidia/cuda:12.4.1-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip install torch==2.5.1
