FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip3 install torch==2.8.0+cu128 --extra-index-url https://download.pytorch.org/whl/cu128
