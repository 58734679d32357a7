FROM python:3.11-slim
ENV NVIDIA_VISIBLE_DEVICES=all
RUN pip install cupy-cuda12x==13.2.0
RUN pip install torch==2.4.0+cu118
