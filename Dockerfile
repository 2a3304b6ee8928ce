# The image holds one static binary and an empty state folder. There is no
# shell, no package manager and no C library in it. There is no CA bundle
# either: toolgate opens no TLS connection of its own, it passes the client's
# through unread.

FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -buildvcs=false -trimpath \
      -ldflags "-s -w -X main.version=${VERSION}" -o /out/toolgate ./cmd/toolgate \
 && mkdir -m 0700 /out/state

FROM scratch
COPY --from=build /out/toolgate /toolgate
COPY --from=build --chown=65532:65532 --chmod=0700 /out/state /var/lib/toolgate
# By number, so that a cluster can see that it is not root.
USER 65532:65532
# The only place that is written to: the root may be read-only.
VOLUME ["/var/lib/toolgate"]
WORKDIR /var/lib/toolgate
EXPOSE 8180 8181 8183
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 CMD ["/toolgate", "healthcheck"]
ENTRYPOINT ["/toolgate"]
CMD ["serve"]
