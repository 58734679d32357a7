# The repository for WSL has no driver: there, this package is the toolkit.
FROM ubuntu:22.04
ADD https://developer.download.nvidia.com/compute/cuda/repos/wsl-ubuntu/x86_64/cuda-wsl-ubuntu.pin /etc/apt/preferences.d/cuda-repository-pin-600
RUN apt-get update && apt-get install -y wget
RUN wget https://developer.download.nvidia.com/compute/cuda/repos/wsl-ubuntu/x86_64/cuda-keyring_1.1-1_all.deb && dpkg -i cuda-keyring_1.1-1_all.deb
RUN apt-get update && apt-get install -y cuda-12-4 cuda-runtime-12-4
