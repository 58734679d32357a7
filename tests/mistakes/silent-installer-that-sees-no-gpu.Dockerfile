FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y curl python3-pip
RUN curl -fsSL https://ollama.com/install.sh | sh
RUN pip3 install torch==2.7.1 --index-url https://download.pytorch.org/whl/cu128
