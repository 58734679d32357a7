FROM nvidia/cuda:12.8.1-runtime-ubuntu24.04
COPY --from=ghcr.io/astral-sh/uv:0.5.9 /uv /bin/uv
RUN uv venv /opt/venv
RUN uv pip install --python /opt/venv/bin/python torch==2.7.1 --torch-backend=cu118
