package rollout

// MaxTail is the number of bytes that FindCall reads first.
const MaxTail = maxTail

// Reading bounds what is read at once.
var Reading = reading
