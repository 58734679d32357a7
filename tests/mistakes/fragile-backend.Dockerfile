FROM python:3.12-slim
ENV NVIDIA_VISIBLE_DEVICES=all UV_TORCH_BACKEND=auto
RUN pip install uv
RUN uv pip install --system torch==2.6.0
