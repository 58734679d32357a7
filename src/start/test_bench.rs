//! Images and hosts for the tests of single steps.

use crate::describe;
use crate::fact::ImageFacts;
use crate::fleet;
use crate::fleet::GpuName;
use crate::fleet::Host;
use crate::infer::infer;
use crate::knowledge::Knowledge;
use crate::source::SourceId;
use crate::source::SourceText;
use crate::start::Replay;
use crate::start::StepRecord;
use crate::start::platform::host_for;
