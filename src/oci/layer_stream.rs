//! The bytes of a layer as a blocking reader that resumes after interruptions and never exceeds the layer's size.

use std::io;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Response;
use reqwest::header::CONTENT_RANGE;
use tokio::time::Instant;

use crate::oci::http_client::connection_problem;
use crate::oci::image::Layer;
use crate::oci::pull_error::{PullProblem, one_line};
use crate::oci::pull_options::PullLimits;
use crate::oci::puller::NetworkRuntime;
use crate::oci::registry_client::RegistryClient;

/// Number of bytes that a stream must deliver within the time of `slowest` in the limits.
const RATE_WINDOW_BYTES: u64 = 1 << 20;

/// A piece of a layer's bytes.
type LayerChunk = Box<dyn AsRef<[u8]> + Send>;

/// A blocking reader of one layer in a registry. It buffers one HTTP chunk, of at most about 400 KB, and reads the
/// next on demand. Dropping it ends the request.
pub(crate) struct LayerReader {
    background: Arc<NetworkRuntime>,
    stream: LayerStream,
    piece: Option<LayerChunk>,
    used: usize,
}

impl LayerReader {
    /// Creates a reader of a layer; nothing is requested before the first read.
    pub(crate) fn new(
        background: Arc<NetworkRuntime>,
        client: Arc<RegistryClient>,
        layer: &Layer,
        limits: &PullLimits,
    ) -> Self {
        let stream = LayerStream {
            client,
            size: layer.size,
            layer: layer.clone(),
            limits: limits.clone(),
            at: 0,
            skip: 0,
            response: None,
            breaks: 0,
            breaks_in_a_row: 0,
            pace: (0, Duration::ZERO),
        };
        Self { background, stream, piece: None, used: 0 }
    }
}

impl Read for LayerReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let rest =
                self.piece.as_ref().and_then(|piece| piece.as_ref().as_ref().get(self.used..)).unwrap_or_default();
            if !rest.is_empty() || out.is_empty() {
                let count = rest.len().min(out.len());
                out[..count].copy_from_slice(&rest[..count]);
                self.used += count;
                return Ok(count);
            }
            self.piece = None;
            self.used = 0;
            let next = self.background.block_on(self.stream.next_chunk());
            match next {
                Ok(Some(piece)) => self.piece = Some(piece),
                Ok(None) => return Ok(0),
                Err(problem) => {
                    let asked = format!("layer {}", self.stream.layer.digest);
                    return Err(io::Error::other(self.stream.client.pull_error(&asked, problem)));
                }
            }
        }
    }
}

/// An asynchronous stream of one layer's bytes.
struct LayerStream {
    client: Arc<RegistryClient>,
    layer: Layer,
    size: u64,
    limits: PullLimits,
    /// The number of bytes received.
    at: u64,
    /// The number of bytes to skip because they were received before.
    skip: u64,
    response: Option<Box<Response>>,
    breaks: u32,
    /// The number of interruptions since the last received byte.
    breaks_in_a_row: u32,
    /// The bytes of the current rate window, and the time spent waiting for them.
    pace: (u64, Duration),
}

impl LayerStream {
    /// Returns the next chunk, resuming after interruptions; `None` at the end.
    async fn next_chunk(&mut self) -> Result<Option<LayerChunk>, PullProblem> {
        loop {
            if self.response.is_none() {
                self.open_response().await?;
            }
            let Some(response) = &mut self.response else { continue };
            let start = Instant::now();
            let outcome = response.chunk().await;
            let waited = start.elapsed();
            match outcome {
                Ok(Some(chunk)) => {
                    let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(chunk.len());
                    self.skip -= skipped as u64;
                    self.at += (chunk.len() - skipped) as u64;
                    if self.at > self.size {
                        return Err(PullProblem::WrongSize { expected: self.size, actual: self.at });
                    }
                    self.check_rate(chunk.len() as u64, waited)?;
                    if skipped < chunk.len() {
                        self.breaks_in_a_row = 0;
                        return Ok(Some(Box::new(chunk.slice(skipped..))));
                    }
                }
                Ok(None) if self.at == self.size && self.skip == 0 => return Ok(None),
                Ok(None) => self.record_break(PullProblem::WrongSize { expected: self.size, actual: self.at }).await?,
                Err(error) => self.record_break(connection_problem(error)).await?,
            }
        }
    }

    /// Returns an error if the transfer rate is below the minimum.
    fn check_rate(&mut self, bytes: u64, waited: Duration) -> Result<(), PullProblem> {
        self.pace.0 += bytes;
        self.pace.1 += waited;
        if self.pace.0 >= RATE_WINDOW_BYTES {
            self.pace = (0, Duration::ZERO);
        } else if self.pace.1 > self.limits.slowest {
            let cause =
                format!("{} bytes in {} s, below the minimum transfer rate", self.pace.0, self.pace.1.as_secs());
            return Err(PullProblem::Slow { cause });
        }
        Ok(())
    }

    /// Records an interruption: waits before the next attempt, or returns an error after too many.
    async fn record_break(&mut self, problem: PullProblem) -> Result<(), PullProblem> {
        self.response = None;
        self.breaks += 1;
        self.breaks_in_a_row += 1;
        if self.breaks_in_a_row > self.limits.retries || self.breaks > self.limits.resumes {
            return Err(PullProblem::Broken {
                at: self.at,
                size: self.size,
                breaks: self.breaks,
                cause: Box::new(problem),
            });
        }
        tokio::time::sleep(self.client.back_off(self.breaks_in_a_row)).await;
        Ok(())
    }

    /// Requests the missing bytes and checks that the response has that range.
    async fn open_response(&mut self) -> Result<(), PullProblem> {
        let response = match self.client.open_layer(&self.layer.digest, self.at).await {
            Ok(response) => response,
            Err(problem @ PullProblem::Cut { .. }) => return self.record_break(problem).await,
            // A try of its own: the connection may be refused while a server comes up again.
            Err(problem @ (PullProblem::Transport { .. } | PullProblem::Slow { .. })) if self.breaks > 0 => {
                return self.record_break(problem).await;
            }
            Err(PullProblem::NotFound { .. } | PullProblem::Elsewhere { status: 404, .. })
                if self.layer.is_foreign() =>
            {
                return Err(self.layer.foreign_layer_problem());
            }
            Err(problem) => return Err(problem),
        };
        let length = response.content_length();
        let (from, expected) = if response.status().as_u16() == 206 {
            let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
            let fits = parse_content_range(range)
                .is_some_and(|(from, total)| from == self.at && total.is_none_or(|total| total == self.size));
            if !fits {
                return Err(PullProblem::Range { asked: self.at, size: self.size, answered: one_line(range, 100) });
            }
            (self.at, self.size - self.at)
        } else {
            // A server that knows no ranges begins anew.
            (0, self.size)
        };
        if let Some(length) = length.filter(|length| *length != expected) {
            return Err(PullProblem::WrongSize { expected: self.size, actual: from.saturating_add(length) });
        }
        self.skip = self.at - from;
        self.response = Some(response);
        Ok(())
    }
}

/// Parses `bytes FIRST-LAST/WHOLE`; returns the first byte and the whole size.
fn parse_content_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, whole) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, _) = range.split_once('-')?;
    let whole = if whole == "*" { None } else { Some(whole.parse().ok()?) };
    Some((first.trim().parse().ok()?, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_range_is_parsed_and_invalid_ones_are_none() {
        assert_eq!(parse_content_range("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(parse_content_range("bytes 5-9/*"), Some((5, None)));
        for odd in ["", "bytes */10", "bytes 5/10", "items 5-9/10", "bytes 5-9/x", "bytes -9/10"] {
            assert_eq!(parse_content_range(odd), None, "{odd}");
        }
    }
}
