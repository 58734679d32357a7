FROM ubuntu:20.04
RUN apt-get update && apt-get install -y kmod wget python3-pip
RUN wget -qO cuda.run https://developer.download.nvidia.com/compute/cuda/11.7.1/local_installers/cuda_11.7.1_515.65.01_linux.run
RUN sh cuda.run --silent --driver --toolkit
RUN pip3 install torch==1.13.1
