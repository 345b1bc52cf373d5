# gcsim alone, in an empty image:
#   docker build -t gcsim .
#   docker run --rm gcsim run gc-pause
FROM golang:1.26 AS build
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /root-of-image/gcsim ./cmd/gcsim \
 && mkdir -m 1777 /root-of-image/tmp \
 && mkdir -p /root-of-image/etc/ssl/certs \
 && cp /etc/ssl/certs/ca-certificates.crt /root-of-image/etc/ssl/certs/

FROM scratch
COPY --from=build /root-of-image /
ENTRYPOINT ["/gcsim"]
