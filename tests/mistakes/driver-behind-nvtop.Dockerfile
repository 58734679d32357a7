FROM nvidia/cuda:11.6.2-base-ubuntu20.04
RUN apt-get update && apt-get install -y nvtop python3-pip
RUN pip3 install torch==2.4.1
