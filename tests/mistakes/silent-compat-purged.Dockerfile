FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
RUN apt-get purge -y cuda-compat-12-8 && apt-get autoremove -y
