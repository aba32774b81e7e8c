package rollout

// MaxTail is the number of bytes that FindCall reads first.
const MaxTail = maxTail

// Reading limits the bytes that all callers read at the same time.
var Reading = reading
