FROM python:3.11-slim AS export
RUN pip install torch==2.8.0 --index-url https://download.pytorch.org/whl/cpu
RUN python export.py
FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
COPY --from=export /model.onnx /model.onnx
