package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A service answers, and counts what reached it.
type service struct {
	testpb.UnimplementedTestServiceServer
	calls    atomic.Int64
	messages atomic.Int64
	opened   atomic.Int64

	mu   sync.Mutex
	ends []error // of the streams' RecvMsg, and again after it
}

func (s *service) UnaryCall(_ context.Context, r *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	s.calls.Add(1)
	return &testpb.SimpleResponse{Payload: r.Payload}, nil
}

func (s *service) StreamingInputCall(stream grpc.ClientStreamingServer[testpb.StreamingInputCallRequest, testpb.StreamingInputCallResponse]) error {
	s.opened.Add(1)
	for n := int32(0); ; n++ {
		_, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(&testpb.StreamingInputCallResponse{AggregatedPayloadSize: n})
		}
		if err != nil {
			_, again := stream.Recv()
			s.mu.Lock()
			s.ends = append(s.ends, err, again)
			s.mu.Unlock()
			return err
		}
		s.messages.Add(1)
	}
}

func (s *service) StreamingOutputCall(r *testpb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[testpb.StreamingOutputCallResponse]) error {
	s.opened.Add(1)
	for range r.ResponseParameters {
		if err := stream.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
	return nil
}

func (s *service) FullDuplexCall(stream grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
	s.opened.Add(1)
	for {
		_, err := stream.Recv()
		if err != nil {
			s.mu.Lock()
			s.ends = append(s.ends, err)
			s.mu.Unlock()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		s.messages.Add(1)
		if err := stream.Send(&testpb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
}

// serve runs the service on a loopback socket, or on what listen returns, and
// returns a client of it.
func serve(t testing.TB, s testpb.TestServiceServer, opts []grpc.ServerOption, dial ...grpc.DialOption) testpb.TestServiceClient {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, lis, lis.Addr().String(), s, opts, dial...)
}

func serveOn(t testing.TB, lis net.Listener, target string, s testpb.TestServiceServer, opts []grpc.ServerOption, dial ...grpc.DialOption) testpb.TestServiceClient {
	t.Helper()
	srv := grpc.NewServer(opts...)
	testpb.RegisterTestServiceServer(srv, s)
	var done sync.WaitGroup
	done.Go(func() {
		if err := srv.Serve(lis); err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient(target, append(dial, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		srv.Stop()
		done.Wait()
	})
	return testpb.NewTestServiceClient(conn)
}

// fixed is a key function for one key.
func fixed(context.Context, string) (string, error) { return "a", nil }
