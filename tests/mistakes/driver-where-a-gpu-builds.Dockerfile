FROM nvidia/cuda:12.4.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y curl pciutils python3-pip
RUN curl -fsSL https://ollama.com/install.sh | sh
RUN pip3 install torch==2.6.0
