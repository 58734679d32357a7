FROM nvidia/cuda:11.8.0-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends libcudnn8=8.6.0.163-1+cuda11.8 python3-pip
RUN pip3 install tensorflow==2.12.0
