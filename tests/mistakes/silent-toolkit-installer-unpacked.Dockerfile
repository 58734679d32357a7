FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN curl -fsSLo cuda.run https://developer.download.nvidia.com/compute/cuda/12.8.1/local_installers/cuda_12.8.1_570.124.06_linux.run
RUN sh cuda.run --silent --driver --extract=/opt/unpacked
RUN apt-get update && apt-get install -y python3-pip && pip3 install torch==2.7.1 --index-url https://download.pytorch.org/whl/cu128
