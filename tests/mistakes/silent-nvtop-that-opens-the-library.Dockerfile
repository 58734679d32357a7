FROM nvidia/cuda:12.8.1-base-ubuntu24.04
RUN apt-get update && apt-get install -y nvtop python3-pip
RUN pip3 install --break-system-packages torch==2.7.1 --index-url https://download.pytorch.org/whl/cu128
