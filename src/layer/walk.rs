//! The walk over the archive of a layer.

use std::io::Read;
use std::ops::ControlFlow;

use crate::installed::Want;
use crate::installed::want;
use crate::layer::collect::Collector;
use crate::layer::collect::Found;
use crate::layer::content;
use crate::layer::error::LayerError;
use crate::layer::header;
use crate::layer::header::Fields;
use crate::layer::header::Kind;
use crate::layer::limits::HOLES;
use crate::layer::limits::LONGEST_EXTENSION;
use crate::layer::limits::Limits;
use crate::layer::limits::SMALL;
use crate::layer::name;
use crate::layer::name::Name;
use crate::layer::packed::Descriptor;
use crate::layer::packed::Progress;
use crate::layer::pax;
use crate::layer::pax::Long;
use crate::layer::pax::Records;
use crate::layer::seen::EntryKind;
use crate::layer::seen::EntrySeen;
use crate::layer::seen::LayerSeen;
use crate::layer::seen::Mark;
use crate::layer::sparse::Map;
use crate::layer::sparse::Sparse;
use crate::layer::stream::BLOCK;
use crate::layer::stream::Halt;
use crate::layer::stream::Stream;

/// Reads a layer from its packed bytes, to their end.
///
/// `watch` is told of progress several times for each megabyte, and ends the reading by breaking off.
pub fn read_layer(
    packed: impl Read,
    descriptor: &Descriptor,
    limits: &Limits,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<LayerSeen, LayerError> {
    let mut stream = Stream::new(packed, descriptor, limits, watch)?;
    let mut walk =
        Walk { limits, collector: Collector::new(limits), headers: 0, holes: HOLES, long: Extensions::default() };
    let walked = walk.archive(&mut stream);
    let mut collector = walk.collector;
    match walked {
        Ok(()) => {}
        Err(Halt::Limit) => collector.miss(Mark::Beyond, ""),
        Err(Halt::Error(error)) => return Err(stream.fail(error)),
    }
    let (size, unpacked) = stream.finish()?;
    let mut seen = collector.finish();
    (seen.size, seen.unpacked, seen.digest) = (size, unpacked, descriptor.digest.clone());
    Ok(seen)
}

/// What extension headers say of the next entry.
#[derive(Default)]
struct Extensions {
    name: Option<Long>,
    link: Option<Long>,
    records: Records,
}

struct Walk<'a> {
    limits: &'a Limits,
    collector: Collector<'a>,
    headers: u64,
    /// How many bytes of holes in sparse files are still filled.
    holes: u64,
    long: Extensions,
}

impl Walk<'_> {
    fn archive<R: Read>(&mut self, stream: &mut Stream<'_, R>) -> Result<(), Halt> {
        loop {
            let at = stream.at();
            let Some(block) = stream.block()? else { return Ok(()) };
            if is_zero(&block) {
                return self.end(stream, at);
            }
            self.headers += 1;
            if self.headers > self.limits.headers {
                return Err(Halt::Limit);
            }
            let broken = |what| LayerError::Tar { at, what };
            let fields = match header::read(&block) {
                Ok(fields) => fields,
                Err(_) if at == 0 => return Err(broken("it does not start like an archive").into()),
                Err(what) => return Err(broken(what).into()),
            };
            self.step(stream, fields, &broken)?;
        }
    }

    /// Two blocks of zeros end an archive; what stands behind is nobody's.
    fn end<R: Read>(&mut self, stream: &mut Stream<'_, R>, at: u64) -> Result<(), Halt> {
        match stream.block()? {
            Some(block) if !is_zero(&block) => {
                return Err(LayerError::Tar { at, what: "a single block of zeros separates entries" }.into());
            }
            _ => {}
        }
        if let (_, true) = stream.rest()? {
            self.collector.miss(Mark::Behind, "");
        }
        Ok(())
    }

    fn step<R: Read>(
        &mut self,
        stream: &mut Stream<'_, R>,
        fields: Fields,
        broken: &dyn Fn(&'static str) -> LayerError,
    ) -> Result<(), Halt> {
        let size = fields.size;
        match fields.kind {
            Kind::Global => stream.payload(size, |_| {})?,
            Kind::LongName => self.long.name = Some(long(stream, size)?),
            Kind::LongLink => self.long.link = Some(long(stream, size)?),
            Kind::Pax => {
                let mut reader = pax::Reader::default();
                stream.payload(size, |bytes| reader.feed(bytes))?;
                self.long.records = reader.finish().map_err(broken)?;
            }
            _ => {
                let long = std::mem::take(&mut self.long);
                let size = self.entry(stream, fields, long, broken)?;
                return pad(stream, size);
            }
        }
        pad(stream, size)
    }

    /// Reads one entry with its payload, whose size it says.
    fn entry<R: Read>(
        &mut self,
        stream: &mut Stream<'_, R>,
        fields: Fields,
        long: Extensions,
        broken: &dyn Fn(&'static str) -> LayerError,
    ) -> Result<u64, Halt> {
        let (mut extended, mut map) = (fields.extended, fields.map);
        while extended {
            let block = stream.block()?.ok_or_else(|| broken("it ends inside a sparse file"))?;
            (extended, map) = (header::extends(&block), header::more(&block, map));
        }
        let alone = matches!(fields.kind, Kind::Directory | Kind::Hard | Kind::Link | Kind::Special);
        let size = if alone { 0 } else { long.records.size.unwrap_or(fields.size) };
        let sparse = if fields.kind == Kind::Sparse {
            Some(map.map_or(Sparse::Untold, Sparse::Known))
        } else {
            long.records.sparse.then(|| of_records(&long.records))
        };
        let written = long.records.sparse_name.or(long.name).or(long.records.path).unwrap_or(Long::Name(fields.name));
        let link = long.link.or(long.records.link).unwrap_or(Long::Name(fields.link));
        let name = match &written {
            Long::TooLong => Err(Mark::LongName),
            Long::Name(written) => self.name(written),
        };
        match name {
            Ok(Name::Entry(path)) => {
                let wanted = want(&path);
                let found = match fields.kind {
                    Kind::Directory => Found::Directory,
                    Kind::Special => Found::Other,
                    Kind::Link => self.link(&path, &link),
                    Kind::Hard => self.hard(&path, &link, wanted),
                    _ => self.file(stream, &path, wanted, size, sparse)?,
                };
                self.put(&path, found, &written);
                if matches!(fields.kind, Kind::File | Kind::Sparse) {
                    return Ok(size);
                }
            }
            Ok(Name::Whiteout(path)) => self.collector.white_out(path),
            Ok(Name::Opaque(path)) => self.collector.begin_anew(path),
            Ok(Name::Root | Name::Record) => {}
            Err(mark) => self.miss(mark, &written),
        }
        stream.payload(size, |_| {})?;
        Ok(size)
    }

    fn name(&mut self, written: &[u8]) -> Result<Name, Mark> {
        let path = self.collector.landing(name::path(written)?).ok_or(Mark::OddName)?;
        name::name(path)
    }

    fn file<R: Read>(
        &mut self,
        stream: &mut Stream<'_, R>,
        path: &str,
        wanted: Want,
        size: u64,
        sparse: Option<Sparse>,
    ) -> Result<Found, Halt> {
        let content = if let Some(sparse) = sparse {
            content::sparse(stream, path, wanted, size, sparse, &mut self.holes)?
        } else {
            if matches!(wanted, Want::Text { cap } if size.min(cap.into()) > SMALL as u64) {
                self.collector.grow();
            }
            content::content(stream, path, wanted, size, self.limits)?
        };
        if let Some(mark) = content.mark {
            self.collector.miss(mark, path);
        }
        Ok(match content.kind {
            Some(kind) => kept(kind),
            None if content.looked => Found::Nothing,
            None => Found::Other,
        })
    }

    fn link(&mut self, path: &str, target: &Long) -> Found {
        match target {
            Long::Name(target) if target.len() <= crate::layer::limits::LONGEST_PATH => {
                kept(EntryKind::Link(String::from_utf8_lossy(target).into_owned()))
            }
            _ => {
                self.collector.miss(Mark::LongName, path);
                Found::Other
            }
        }
    }

    fn hard(&mut self, path: &str, target: &Long, wanted: Want) -> Found {
        let found = match target {
            Long::TooLong => Err(Mark::LongName),
            Long::Name(target) => name::path(target),
        };
        let target = match found.and_then(|target| self.collector.lookup(target).ok_or(Mark::OddName)) {
            Ok(target) => target,
            Err(mark) => {
                self.collector.miss(mark, path);
                return content::unread(path, wanted).map_or(Found::Other, kept);
            }
        };
        match self.collector.target(&target) {
            // A file is no other name of itself.
            Some((first, kind)) if first == path => kept(kind.clone()),
            Some((first, kind)) if wanted != Want::Nothing => {
                let (first, answered) = (first.to_owned(), content::answers(kind, wanted));
                if !answered {
                    self.collector.miss(Mark::HardLink, path);
                }
                kept(EntryKind::Hard(first))
            }
            None if wanted != Want::Nothing && target != path => kept(EntryKind::Hard(target)),
            _ => Found::Other,
        }
    }

    fn put(&mut self, path: &str, found: Found, written: &Long) {
        let found = match (found, written) {
            (Found::Kept(mut entry), Long::Name(written)) => {
                let written = String::from_utf8_lossy(written);
                entry.written = (written != *path && Some(&*written) != path.get(1..)).then(|| written.into_owned());
                Found::Kept(entry)
            }
            (found, _) => found,
        };
        self.collector.put(path, found);
    }

    fn miss(&mut self, mark: Mark, written: &Long) {
        let path = match written {
            Long::Name(written) => written.get(..400).unwrap_or(written),
            Long::TooLong => &[],
        };
        self.collector.miss(mark, &String::from_utf8_lossy(path));
    }
}

/// What records say of a sparse file.
fn of_records(records: &Records) -> Sparse {
    match (records.sparse_size, &records.sparse_map) {
        (Some(size), _) if records.sparse_ahead => Sparse::Ahead(size),
        (Some(size), Some(map)) => Map::listed(size, map).map_or(Sparse::Untold, Sparse::Known),
        _ => Sparse::Untold,
    }
}

fn kept(kind: EntryKind) -> Found {
    Found::Kept(EntrySeen { written: None, kind })
}

fn is_zero(block: &[u8; BLOCK]) -> bool {
    block.first() == Some(&0) && block.iter().all(|byte| *byte == 0)
}

/// Payloads fill whole blocks, but for the last one of an archive that its builder did not end: runtimes take it.
fn pad<R: Read>(stream: &mut Stream<'_, R>, size: u64) -> Result<(), Halt> {
    let over = size % BLOCK as u64;
    if over == 0 { Ok(()) } else { stream.padding(BLOCK as u64 - over) }
}

/// A name that stands in the payload of a header of its own, up to its first zero.
fn long<R: Read>(stream: &mut Stream<'_, R>, size: u64) -> Result<Long, Halt> {
    if size > LONGEST_EXTENSION as u64 {
        stream.payload(size, |_| {})?;
        return Ok(Long::TooLong);
    }
    let mut name = Vec::new();
    stream.payload(size, |bytes| name.extend_from_slice(bytes))?;
    name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
    Ok(Long::Name(name))
}
