FROM python:3.11-slim
ENV NVIDIA_VISIBLE_DEVICES=all
RUN pip install cupy-cuda12x==13.2.0 torch==2.7.1+cu128
