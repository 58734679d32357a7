FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
RUN nvidia-smi || true
RUN echo "pip install torch==1.7.1+cpu" && grep -q torch==1.7.1 /etc/passwd || :
