//! A layer's bytes as a blocking reader: taken up again where the stream breaks, never more than announced.

use std::io;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Response;
use reqwest::header::CONTENT_RANGE;
use tokio::time::Instant;

use crate::oci::client::Client;
use crate::oci::error::Problem;
use crate::oci::error::one_line;
use crate::oci::http::transport;
use crate::oci::image::Layer;
use crate::oci::options::Limits;
use crate::oci::puller::Background;

/// How many bytes a stream has to bring in the time of `Limits::slowest`.
const PACE: u64 = 1 << 20;

type Chunk = Box<dyn AsRef<[u8]> + Send>;

/// The bytes of one layer of a registry. What is in flight is one piece of the HTTP client, of at most 400 KB or so:
/// the client reads no further before that piece is taken. Dropping the reader ends the request.
pub(crate) struct LayerReader {
    background: Arc<Background>,
    stream: LayerStream,
    piece: Option<Chunk>,
    used: usize,
}

impl LayerReader {
    /// A reader of the layer; nothing is asked before the first read.
    pub(crate) fn new(background: Arc<Background>, client: Arc<Client>, layer: &Layer, limits: &Limits) -> Self {
        let stream = LayerStream {
            client,
            size: layer.size,
            layer: layer.clone(),
            limits: limits.clone(),
            at: 0,
            skip: 0,
            response: None,
            breaks: 0,
            in_a_row: 0,
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
            let next = self.background.wait_for(self.stream.next());
            match next {
                Ok(Some(piece)) => self.piece = Some(piece),
                Ok(None) => return Ok(0),
                Err(problem) => {
                    let asked = format!("layer {}", self.stream.layer.digest);
                    return Err(io::Error::other(self.stream.client.fail(&asked, problem)));
                }
            }
        }
    }
}

struct LayerStream {
    client: Arc<Client>,
    layer: Layer,
    size: u64,
    limits: Limits,
    /// How many bytes came.
    at: u64,
    /// How many of the next ones came already.
    skip: u64,
    response: Option<Box<Response>>,
    breaks: u32,
    /// Breaks since the last byte.
    in_a_row: u32,
    /// What came, and how long it was waited for.
    pace: (u64, Duration),
}

impl LayerStream {
    async fn next(&mut self) -> Result<Option<Chunk>, Problem> {
        loop {
            if self.response.is_none() {
                self.start().await?;
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
                        return Err(Problem::WrongSize { expected: self.size, actual: self.at });
                    }
                    self.keep_pace(chunk.len() as u64, waited)?;
                    if skipped < chunk.len() {
                        self.in_a_row = 0;
                        return Ok(Some(Box::new(chunk.slice(skipped..))));
                    }
                }
                Ok(None) if self.at == self.size && self.skip == 0 => return Ok(None),
                Ok(None) => self.broke(Problem::WrongSize { expected: self.size, actual: self.at }).await?,
                Err(error) => self.broke(transport(error)).await?,
            }
        }
    }

    fn keep_pace(&mut self, bytes: u64, waited: Duration) -> Result<(), Problem> {
        self.pace.0 += bytes;
        self.pace.1 += waited;
        if self.pace.0 >= PACE {
            self.pace = (0, Duration::ZERO);
        } else if self.pace.1 > self.limits.slowest {
            let cause =
                format!("{} bytes in {} s, below the minimum transfer rate", self.pace.0, self.pace.1.as_secs());
            return Err(Problem::Slow { cause });
        }
        Ok(())
    }

    /// Waits before the next try, or gives up.
    async fn broke(&mut self, problem: Problem) -> Result<(), Problem> {
        self.response = None;
        self.breaks += 1;
        self.in_a_row += 1;
        if self.in_a_row > self.limits.retries || self.breaks > self.limits.resumes {
            return Err(Problem::Broken {
                at: self.at,
                size: self.size,
                breaks: self.breaks,
                cause: Box::new(problem),
            });
        }
        tokio::time::sleep(self.client.back_off(self.in_a_row)).await;
        Ok(())
    }

    /// Asks for what is missing, and checks that the answer is that.
    async fn start(&mut self) -> Result<(), Problem> {
        let response = match self.client.layer(&self.layer.digest, self.at).await {
            Ok(response) => response,
            Err(problem @ Problem::Cut { .. }) => return self.broke(problem).await,
            // A try of its own: the connection may be refused while a server comes up again.
            Err(problem @ (Problem::Transport { .. } | Problem::Slow { .. })) if self.breaks > 0 => {
                return self.broke(problem).await;
            }
            Err(Problem::NotFound { .. } | Problem::Elsewhere { status: 404, .. }) if self.layer.is_foreign() => {
                return Err(self.layer.elsewhere());
            }
            Err(problem) => return Err(problem),
        };
        let length = response.content_length();
        let (from, expected) = if response.status().as_u16() == 206 {
            let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
            let fits = content_range(range)
                .is_some_and(|(from, total)| from == self.at && total.is_none_or(|total| total == self.size));
            if !fits {
                return Err(Problem::Range { asked: self.at, size: self.size, answered: one_line(range, 100) });
            }
            (self.at, self.size - self.at)
        } else {
            // A server that knows no ranges begins anew.
            (0, self.size)
        };
        if let Some(length) = length.filter(|length| *length != expected) {
            return Err(Problem::WrongSize { expected: self.size, actual: from.saturating_add(length) });
        }
        self.skip = self.at - from;
        self.response = Some(response);
        Ok(())
    }
}

/// The first byte and the size of the whole in `bytes FIRST-LAST/WHOLE`.
fn content_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, whole) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, _) = range.split_once('-')?;
    let whole = if whole == "*" { None } else { Some(whole.parse().ok()?) };
    Some((first.trim().parse().ok()?, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_range_is_read_and_odd_ones_are_none() {
        assert_eq!(content_range("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(content_range("bytes 5-9/*"), Some((5, None)));
        for odd in ["", "bytes */10", "bytes 5/10", "items 5-9/10", "bytes 5-9/x", "bytes -9/10"] {
            assert_eq!(content_range(odd), None, "{odd}");
        }
    }
}
