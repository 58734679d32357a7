FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN curl -fsSLO https://developer.download.nvidia.com/compute/cuda/12.8.1/local_installers/cuda_12.8.1_570.124.06_linux.run
RUN sh cuda_12.8.1_570.124.06_linux.run --silent --toolkit
