FROM ubuntu:20.04
RUN apt-get update && apt-get install -y kmod wget
RUN wget -q https://us.download.nvidia.com/tesla/470.57.02/NVIDIA-Linux-x86_64-470.57.02.run
RUN sh NVIDIA-Linux-x86_64-470.57.02.run -s --no-kernel-module
RUN apt-get install -y python3-pip && pip3 install torch==1.13.1
